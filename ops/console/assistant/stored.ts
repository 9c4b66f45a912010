import { useState } from 'react';
import { keep } from '../client/keep.ts';

/**
 * A value that the browser stores. Not the hook of Mantine's for it: code that the first page and a lazy part share would be one more
 * file to load at first.
 */
export function useStored(
  key: string,
  first: () => string,
  store: Storage = localStorage,
): [string, (next: string) => void] {
  const [value, setValue] = useState(() => {
    const found = store.getItem(key) ?? first();
    keep(key, found, store);
    return found;
  });
  const set = (next: string) => {
    keep(key, next, store);
    setValue(next);
  };
  return [value, set];
}
