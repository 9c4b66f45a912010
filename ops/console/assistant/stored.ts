import { useState } from 'react';

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
    store.setItem(key, found);
    return found;
  });
  const set = (next: string) => {
    store.setItem(key, next);
    setValue(next);
  };
  return [value, set];
}
