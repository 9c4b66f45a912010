import { useMemo } from 'react';
import { type Drawing, drawingOf } from '../graph/drawing.ts';
import { exitsOf } from '../graph/exits.ts';
import type { Kinds } from '../graph/kinds.ts';
import type { Draft } from './draft.ts';

/** The drawing of a draft. It stays the same while configs are typed that change no exit. */
export function useDrawing(draft: Draft, kinds: Kinds): Drawing {
  const key = useMemo(
    () =>
      JSON.stringify([
        draft.nodes.map(({ id, type, position, data }) => [id, type, position, exitsOf(kinds[type], data)]),
        draft.edges.map(({ id, source, target, sourceHandle }) => [id, source, target, sourceHandle]),
      ]),
    [draft.nodes, draft.edges, kinds],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key has all of the draft that is drawn
  return useMemo(() => drawingOf(draft, kinds), [key, kinds]);
}
