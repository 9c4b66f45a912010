import { partsOf } from './parts-of.ts';
import { Moment } from './time.tsx';

/** A text of the server, with its codes and with its moments in the time of the browser. */
export function Words({ text }: { text: string }) {
  return partsOf(text).map(({ kind, text: part }, index) => {
    // biome-ignore-start lint/suspicious/noArrayIndexKey: the parts have no state
    if (kind === 'code') return <code key={index}>{part}</code>;
    if (kind === 'moment') return <Moment key={index} at={part} />;
    return <bdi key={index}>{part}</bdi>;
    // biome-ignore-end lint/suspicious/noArrayIndexKey: the parts have no state
  });
}
