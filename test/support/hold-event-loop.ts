const never = new Int32Array(new SharedArrayBuffer(4));

/** Holds the event loop of this process, as a long calculation does, and takes no processor time. */
export function holdEventLoop(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}
