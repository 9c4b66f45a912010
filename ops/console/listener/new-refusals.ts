import { useEffect, useState } from 'react';
import { keep } from '../client/keep.ts';
import type { Schemas } from '../client/types.ts';

type Refusal = Pick<Schemas['ListenerRefusal'], 'refusedAt'>;

/** How many refused deliveries of a listener have come since a person of this browser has looked at them. */
export function useNewRefusals(listenerID: string, refusals: readonly Refusal[], isLookedAt: boolean): number {
  const key = `gantry.refusals.${listenerID}`;
  const [looked, setLooked] = useState<{ key: string; at: string }>();
  const seenAt = looked?.key === key ? looked.at : (localStorage.getItem(key) ?? '');
  // The newest is the first.
  const newest = refusals[0]?.refusedAt ?? '';
  useEffect(() => {
    if (!isLookedAt || newest <= seenAt) return;
    keep(key, newest, localStorage);
    setLooked({ key, at: newest });
  }, [isLookedAt, newest, seenAt, key]);
  return refusals.filter(({ refusedAt }) => refusedAt > seenAt).length;
}
