/* The search of a site that is opened as files: browsers start no worker from a file, so its script runs in a hidden frame.
   Material's own script looks for the name IFrameWorker. */
"use strict";
(() => {
  const addScript = (page, address) =>
    new Promise((resolve, reject) => {
      const script = page.createElement("script");
      script.src = address;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${address} cannot be loaded`));
      page.body.append(script);
    });

  class IFrameWorker extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      // Opened and closed, so that no browser puts another empty page in its place later.
      inside.document.open();
      inside.document.write("<body></body>");
      inside.document.close();
      inside.postMessage = (data) => this.receive(data);
      inside.importScripts = (...addresses) =>
        addresses.reduce((loaded, each) => loaded.then(() => addScript(inside.document, each)), Promise.resolve());
      this.ready = addScript(inside.document, String(address));
    }

    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }

    postMessage(data) {
      const sent = structuredClone(data);
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: sent })));
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.IFrameWorker = IFrameWorker;
  if (location.protocol === "file:") window.Worker = IFrameWorker;
})();
