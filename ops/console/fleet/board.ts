interface Board {
  queues: readonly string[];
  /** Not where the board is open to its own machine. */
  signsOut: boolean;
}

/** The board's description of itself in the page that it serves. */
export const board: Board = JSON.parse(document.querySelector<HTMLMetaElement>('meta[name="board"]')?.content ?? '');

export function queuePath(queue: string): string {
  return `/queue/${encodeURIComponent(queue)}`;
}
