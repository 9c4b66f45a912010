/** Longest that a suspect waits to be alone; after that it runs beside others, and a loss is then not held against it. */
const PATIENCE_MS = 5000;
/** Longest that it keeps others out. */
const ALONE_MS = 60_000;

export interface Gate {
  /** Enters beside others; answers the way out, which may be called twice. */
  enter(): Promise<() => void>;
  /**
   * From inside: waits until nobody else is, keeps others out until `work` ends or calls `open`, and says whether that
   * worked.
   */
  alone(leave: () => void, work: (alone: boolean, open: () => void) => Promise<void>): Promise<void>;
}

/** Lets a run that has lost its worker before run alone in its process, so that another's poison is not blamed on it. */
export function createGate(): Gate {
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
      const timer = setTimeout(open, ALONE_MS);
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
      }, PATIENCE_MS);
      onEmpty = () => {
        onEmpty = null;
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
