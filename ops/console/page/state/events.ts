import { isObject } from '../../ui/is-object.ts';
import { type ActingPage, runActions } from './actions.ts';
import type { PlacedWidget } from './client.ts';

type Values = Readonly<Record<string, unknown>>;

/** An event may have an action that leads to the same event, also by those of other widgets. */
const MAX_IN_A_ROW = 200;

interface Cause {
  event: Values;
  /** How many events have led to it. */
  depth: number;
}

/** An event at work, and the one that comes after it. */
interface Firing {
  next: Cause | undefined;
}

/** The events of a page's widgets, and the actions that they lead to. */
export class Events {
  readonly #page: ActingPage;
  readonly #widget: (key: string) => PlacedWidget | undefined;
  readonly #firing = new Map<string, Firing>();
  #isClosed = false;

  constructor(page: ActingPage, widget: (key: string) => PlacedWidget | undefined) {
    this.#page = page;
    this.#widget = widget;
  }

  /** An event at work comes to its end; nothing follows it. */
  close(): void {
    this.#isClosed = true;
  }

  /**
   * Does what an event of a widget leads to. One that comes while the same is at work is done after it, the last one of several. Answers
   * whether all has been done.
   */
  async fire(key: string, name: string, cause: Cause): Promise<boolean> {
    const actions = this.#actionsOf(key, name);
    if (actions.length === 0) return true;
    if (this.#isClosed) return false;
    const id = `${key} ${name}`;
    const running = this.#firing.get(id);
    if (running) {
      running.next = cause;
      return false;
    }
    const state: Firing = { next: cause };
    this.#firing.set(id, state);
    let isDone = false;
    for (let count = 0; state.next && !this.#isClosed; count += 1) {
      const now = state.next;
      state.next = undefined;
      isDone = false;
      if (Math.max(count, now.depth) >= MAX_IN_A_ROW)
        this.#page.messages.tell('bad', 'This event has caused itself over and over, and was stopped.');
      else isDone = await runActions(actions, { page: this.#page, widgetKey: key, ...now });
    }
    this.#firing.delete(id);
    return isDone;
  }

  has(key: string, name: string): boolean {
    return this.#actionsOf(key, name).length > 0;
  }

  #actionsOf(key: string, name: string): readonly unknown[] {
    const { events } = this.#widget(key)?.widgetConfig ?? {};
    const actions = isObject(events) && Object.hasOwn(events, name) ? events[name] : undefined;
    return Array.isArray(actions) ? actions : [];
  }
}
