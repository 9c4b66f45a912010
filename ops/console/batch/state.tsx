import type { Batch } from '../client/batches.ts';
import { stateOf } from './words.ts';

/** Told by word and colour. */
export function BatchState({ of }: { of: Batch }) {
  const { word, tone } = stateOf(of);
  return (
    <span className="status" data-tone={tone}>
      {word}
    </span>
  );
}
