// Where blocks stand: what their references lead to, and which colours seats have there.
import { createContext } from "preact";

export interface Place {
  /** The hue of a seat, where it is one of this session's. */
  hueOf: (seat: string) => number | null;
  /** What fills a seat: each line need not repeat it. */
  platformOf: (seat: string) => string;
  /** Where a reference leads; null where there is nothing to lead to. */
  linkTo: ((entry: number) => string) | null;
  followTo: (entry: number) => void;
  selectSeat: ((seat: string) => void) | null;
  /** The whole text of an entry that was sent cut. */
  loadWhole: ((entry: number) => Promise<string>) | null;
  /** Nothing can be opened there, so that folds are open. */
  isPaper?: boolean;
}

export const PlaceContext = createContext<Place>({
  hueOf: () => null,
  platformOf: () => "",
  linkTo: null,
  followTo: () => undefined,
  selectSeat: null,
  loadWhole: null,
});
