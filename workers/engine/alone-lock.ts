/** How long a suspect waits to be alone. After that it runs beside others, and a loss does not count against it. */
const MAX_WAIT_MS = 5000;
/** How long it keeps others out. */
const MAX_ALONE_MS = 60_000;

export interface AloneLock {
  /** Enters beside others. Returns the function that leaves, which may be called twice. */
  enter(): Promise<() => void>;
  /**
   * For a run that has entered: waits until no other run is inside, then keeps others out until `work` ends or calls `open`.
   * `work` learns whether it is alone.
   */
  alone(leave: () => void, work: (alone: boolean, open: () => void) => Promise<void>): Promise<void>;
}

/** Lets a run that has lost its worker before run alone in its process, so that it is not blamed for another run's crash. */
export function createAloneLock(): AloneLock {
  let inside = 0;
  let closed: Promise<void> | null = null;
  let onEmpty: (() => void) | null = null;

  return {
    async enter() {
      while (closed) await closed;
      inside += 1;
      let left = false;
      return () => {
        if (left) return;
        left = true;
        inside -= 1;
        if (inside === 0) onEmpty?.();
      };
    },
    async alone(leave, work) {
      leave();
      while (closed) await closed;
      const door = Promise.withResolvers<void>();
      closed = door.promise;
      const open = () => {
        if (closed === door.promise) closed = null;
        door.resolve();
      };
      const empty = await emptied();
      if (!empty) open();
      const timer = setTimeout(open, MAX_ALONE_MS);
      try {
        await work(empty, open);
      } finally {
        clearTimeout(timer);
        open();
      }
    },
  };

  function emptied(): Promise<boolean> {
    if (inside === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        onEmpty = null;
        resolve(false);
      }, MAX_WAIT_MS);
      onEmpty = () => {
        onEmpty = null;
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
