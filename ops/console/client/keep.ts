/** Keeps a text in the browser, which may refuse it because it is full; what a page shows does not depend on it. */
export function keep(key: string, text: string, store: Storage = sessionStorage): void {
  try {
    store.setItem(key, text);
  } catch {
    // It is remembered as long as the page is.
  }
}

/** A browser that keeps nothing has nothing to forget. */
export function forget(key: string, store: Storage = sessionStorage): void {
  try {
    store.removeItem(key);
  } catch {
    // As above.
  }
}
