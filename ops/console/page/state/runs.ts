import { isObject } from '../../ui/is-object.ts';
import type { Bindings } from '../bindings/graph.ts';
import type { PageClient, RunState, RunTarget } from './client.ts';
import { createStore, type Store } from './store.ts';

/** The memory of a page, which outlives a reload of its tab. */
export interface Memory {
  get(): unknown;
  set(value: unknown): void;
}

export interface PageRun extends RunState {
  /** The alias, or the id of a workflow that the page does not bind. */
  slot: string;
  widgetKey: string;
}

interface Watched {
  target: RunTarget;
  leave: () => void;
}

const ENDED = new Set(['COMPLETED', 'FAILED', 'CANCELLED']);

export function hasEnded({ status }: Pick<RunState, 'status'>): boolean {
  return ENDED.has(status);
}

/** Runs of workflows that the page has started, one for each alias: `workflows.<alias>` in expressions. */
export class Runs {
  readonly shown: Store<readonly PageRun[]> = createStore<readonly PageRun[]>([]);
  readonly #bindings: Bindings;
  readonly #client: Pick<PageClient, 'watchRun'>;
  readonly #memory: Memory;
  readonly #watched = new Map<string, Watched>();
  /** Ends the wait for the answer to a start. */
  readonly #starting = new Map<string, (error: Error) => void>();

  constructor(bindings: Bindings, client: Pick<PageClient, 'watchRun'>, memory: Memory) {
    this.#bindings = bindings;
    this.#client = client;
    this.#memory = memory;
  }

  /** Goes on with what was shown before the page was loaded anew. */
  open(): void {
    const known = this.#memory.get();
    for (const one of Array.isArray(known) ? known : []) {
      if (!isObject(one) || typeof one.instanceID !== 'string' || typeof one.widgetKey !== 'string') continue;
      const { slot, instanceID, widgetKey, isAlias } = one;
      if (typeof slot !== 'string') continue;
      const workflow = isAlias === true ? { alias: slot } : { workflowID: slot };
      this.#watch(slot, { widgetKey, workflow, inputs: {} }, instanceID);
    }
  }

  close(): void {
    for (const slot of [...this.#starting.keys()])
      this.#giveUp(slot, 'The page was left before the start was answered');
    for (const { leave } of this.#watched.values()) leave();
    this.#watched.clear();
  }

  /**
   * Starts a run, in the place of the one that was shown. Answers once it is accepted; rejects if it is refused, or while an earlier start
   * has had no answer: that run may go on already, and would be shown nowhere.
   */
  start(target: RunTarget): Promise<RunState> {
    const slot = slotOf(target);
    if (this.#starting.has(slot))
      return Promise.reject(new Error('An earlier start of this workflow has had no answer yet'));
    return new Promise((resolve, reject) => {
      this.#starting.set(slot, reject);
      const answered = (settle: () => void) => {
        if (this.#starting.get(slot) === reject) this.#starting.delete(slot);
        settle();
      };
      try {
        this.#watch(slot, target, undefined, (state) => {
          if (state.instanceID !== '') answered(() => resolve(state));
          else if (state.error) answered(() => reject(new Error(state.error?.message)));
        });
      } catch (error) {
        answered(() => reject(error));
      }
    });
  }

  #giveUp(slot: string, why: string): void {
    this.#starting.get(slot)?.(new Error(why));
    this.#starting.delete(slot);
  }

  forget(slot: string): void {
    this.#giveUp(slot, 'The run was closed before its start was answered');
    this.#watched.get(slot)?.leave();
    this.#watched.delete(slot);
    this.shown.set(this.shown.get().filter((run) => run.slot !== slot));
    this.#keep();
  }

  #watch(
    slot: string,
    target: RunTarget,
    instanceID: string | undefined,
    onState: (state: RunState) => void = () => {},
  ) {
    this.#watched.get(slot)?.leave();
    // There before its state is told for the first time.
    this.#watched.set(slot, { target, leave: () => {} });
    const leave = this.#client.watchRun({ ...target, instanceID }, (state) => {
      this.#show({ ...state, slot, widgetKey: target.widgetKey });
      onState(state);
    });
    this.#watched.set(slot, { target, leave });
  }

  #show(run: PageRun): void {
    const others = this.shown.get().filter(({ slot }) => slot !== run.slot);
    // A refusal is told where it was asked for.
    const isRefused = run.instanceID === '' && run.error !== null;
    this.shown.set(isRefused ? others : [...others, run]);
    const { slot: _slot, widgetKey: _widget, ...state } = run;
    this.#bindings.set('workflows', run.slot, { ...state, isRunning: run.instanceID !== '' && !hasEnded(run) });
    this.#keep();
  }

  #keep(): void {
    const remembered = this.shown.get().flatMap(({ slot, instanceID, widgetKey }) => {
      const target = this.#watched.get(slot)?.target;
      return target && instanceID ? [{ slot, instanceID, widgetKey, isAlias: 'alias' in target.workflow }] : [];
    });
    this.#memory.set(remembered);
  }
}

function slotOf({ workflow }: RunTarget): string {
  return 'alias' in workflow ? workflow.alias : workflow.workflowID;
}
