"""ACP: Moot as an agent of an editor; a prompt is a question, its meeting is the progress, its decision the answer."""
