import type { ServerMessage } from '#shared/messaging/realtime/events.ts';
import { presentRunEvent, type RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import { isTerminal } from '#shared/workflow/progress/status.ts';

/**
 * Receives messages in order, each once. If it returns a promise, the next messages follow when the promise has
 * resolved.
 */
export interface Deliver {
  (messages: ServerMessage[]): void | Promise<void>;
  /**
   * Called before messages are read for the watcher, and before they are delivered. Resolves when the watcher has room
   * for more; undefined if it has room.
   */
  capacity?(): Promise<void> | undefined;
}

interface Watcher {
  /** The `seq` of the next message to deliver. */
  next: number;
  /** The events before the watcher joined are still being sent. */
  isFresh: boolean;
  isBusy: boolean;
  readonly deliver: Deliver;
}

interface Sources {
  read(after: number): Promise<{ rows: RunEventRow[]; hasMore: boolean }>;
  onIdle(): void;
  onFailure(error: unknown): void;
}

/**
 * Live messages that are kept for slow watchers. Beyond this number all are dropped, and read from Postgres when a
 * watcher needs them.
 */
const MAX_REMEMBERED = 100;

/**
 * A run that is watched in this process. Live messages arrive in any order, twice, or not at all; each watcher receives
 * them in order of `seq`, once, and missing ones are read from Postgres. One page is read for all watchers.
 */
export class WatchedRun {
  /** Set when `watched_until` is set: later commits are published. */
  isOpen = false;
  /** The time at which `watched_until` is renewed next, by this process's clock. */
  renewAt = 0;
  readonly #sources: Sources;
  readonly #watchers = new Set<Watcher>();
  readonly #live = new Map<number, ServerMessage[]>();
  #known = 0;
  #isOver = false;
  #isFilling = false;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** The run has ended: its last event is in Postgres. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The `seq` up to which every watcher has received the messages. */
  get head(): number {
    let head = Number.MAX_SAFE_INTEGER;
    for (const { next } of this.#watchers) head = Math.min(head, next - 1);
    return head;
  }

  watch(lastSeq: number, deliver: Deliver): () => void {
    const watcher: Watcher = { next: lastSeq + 1, isFresh: true, isBusy: false, deliver };
    this.#watchers.add(watcher);
    this.fill();
    return () => this.#remove(watcher);
  }

  receive(messages: readonly ServerMessage[]): void {
    const bySeq = Map.groupBy(messages, ({ payload }) => payload.seq);
    if (this.#live.size > MAX_REMEMBERED) this.#live.clear();
    for (const [seq, group] of bySeq) {
      this.#known = Math.max(this.#known, seq);
      this.#live.set(seq, group);
      if (group.some(isEnd)) this.#end();
    }
    this.#advance();
    this.fill();
  }

  /** Notes the state of the run in Postgres. */
  moved({ seq, isOver }: { seq: number; isOver: boolean }): void {
    this.#known = Math.max(this.#known, seq);
    if (isOver) this.#end();
    this.fill();
  }

  /** Reads events that a watcher has not received; after a failure, the next call reads again. */
  fill(): void {
    if (!this.isOpen || this.#isFilling) return;
    this.#isFilling = true;
    this.#readPages().catch((error) => this.#sources.onFailure(error));
  }

  close(): void {
    this.#watchers.clear();
    this.#settle();
  }

  async #readPages(): Promise<void> {
    try {
      for (let behind = this.#behind(); behind.length > 0; behind = this.#behind()) {
        const wasOver = this.#isOver;
        const after = behind.reduce((least, { next }) => Math.min(least, next), Number.MAX_SAFE_INTEGER) - 1;
        const page = await this.#sources.read(after);
        this.#handPage(behind, page, wasOver);
        // The event is announced but not visible yet: the next comparison reads again.
        if (page.rows.length === 0) this.#known = after;
      }
    } finally {
      this.#isFilling = false;
    }
    this.#settle();
  }

  #handPage(
    behind: readonly Watcher[],
    { rows, hasMore }: { rows: readonly RunEventRow[]; hasMore: boolean },
    wasOver: boolean,
  ): void {
    const messages = rows.flatMap(presentRunEvent);
    for (const watcher of behind) {
      // A live message has come first, and is still being sent.
      if (this.#mustWait(watcher)) continue;
      if (!hasMore) watcher.isFresh = false;
      this.#hand(
        watcher,
        messages.filter(({ payload }) => payload.seq >= watcher.next),
      );
      if (!hasMore && wasOver) this.#watchers.delete(watcher);
    }
  }

  #behind(): Watcher[] {
    this.#advance();
    return [...this.#watchers].filter(
      (watcher) => (watcher.isFresh || watcher.next <= this.#known) && !this.#mustWait(watcher),
    );
  }

  /** Delivers to each watcher the live messages that follow its last one. */
  #advance(): void {
    for (const watcher of this.#watchers) {
      if (watcher.isBusy) continue;
      const messages: ServerMessage[] = [];
      for (let at = watcher.next; this.#live.has(at); at += 1) messages.push(...(this.#live.get(at) ?? []));
      this.#hand(watcher, messages);
    }
    const { head } = this;
    for (const seq of this.#live.keys()) if (seq <= head) this.#live.delete(seq);
    this.#settle();
  }

  #hand(watcher: Watcher, messages: ServerMessage[]): void {
    const last = messages.at(-1);
    if (!last || !this.#watchers.has(watcher) || this.#mustWait(watcher)) return;
    watcher.next = last.payload.seq + 1;
    const sending = watcher.deliver(messages);
    if (isEnd(last)) this.#watchers.delete(watcher);
    if (sending instanceof Promise) this.#suspend(watcher, sending);
  }

  #mustWait(watcher: Watcher): boolean {
    if (watcher.isBusy) return true;
    const capacity = watcher.deliver.capacity?.();
    if (capacity) this.#suspend(watcher, capacity);
    return capacity !== undefined;
  }

  #suspend(watcher: Watcher, until: Promise<void>): void {
    watcher.isBusy = true;
    const resume = () => {
      watcher.isBusy = false;
      this.fill();
    };
    until.then(resume, () => this.#remove(watcher));
  }

  #end(): void {
    this.#isOver = true;
    // One more read removes every watcher, including those that have all messages.
    for (const watcher of this.#watchers) watcher.isFresh = true;
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    this.#settle();
  }

  #settle(): void {
    if (this.#watchers.size === 0) this.#sources.onIdle();
  }
}

function isEnd({ event, payload }: ServerMessage): boolean {
  return event === 'workflow_status_update' && isTerminal(payload.status);
}
