/** How many nodes run at once in this process; whoever comes late waits in line. */
export interface Slots {
  /** Takes a place at once, or answers false. */
  take(): boolean;
  /** Resolves when a place has been taken. */
  wait(): Promise<void>;
  release(): void;
  readonly used: number;
}

export function createSlots(total: number): Slots {
  const line: (() => void)[] = [];
  let used = 0;

  return {
    get used() {
      return used;
    },
    take() {
      if (used >= total) return false;
      used += 1;
      return true;
    },
    wait() {
      return new Promise((resolve) => {
        line.push(resolve);
      });
    },
    release() {
      // The place passes to the next in line without becoming free in between.
      const next = line.shift();
      if (next) next();
      else used -= 1;
    },
  };
}
