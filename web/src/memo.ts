import { type Component, type FunctionComponent, h } from "preact";

/** A component that is rendered again only when one of its properties is another value. */
export function memo<P extends object>(view: FunctionComponent<P>): FunctionComponent<P> {
  function Memo(this: Component<P>, props: P) {
    this.shouldComponentUpdate = (next: Readonly<P>) => {
      const names = Object.keys(next) as (keyof P)[];
      return names.some((name) => next[name] !== this.props[name]) || names.length !== Object.keys(this.props).length;
    };
    return h(view, props);
  }
  return Memo as unknown as FunctionComponent<P>;
}
