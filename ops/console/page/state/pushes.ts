import type { PageClient, Push, Refused } from './client.ts';
import type { SourceState } from './source.ts';

type Values = Readonly<Record<string, unknown>>;

interface Needs {
  client: Pick<PageClient, 'listen'>;
  /** The data sources of the page. */
  bound: () => readonly Values[];
  stateOf: (alias: string) => SourceState | undefined;
  onState: (alias: string, state: SourceState) => void;
}

const MAX_PUSHES = 1_000;

/** Data that listeners send to the page, once it binds one. */
export class Pushes {
  readonly #needs: Needs;
  #end: (() => void) | undefined;
  /** Why nothing is sent to this viewer. */
  #refused: Refused | null = null;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  open(): void {
    if (this.#end || this.#aliases().length === 0) return;
    this.#end = this.#needs.client.listen({
      onPush: (push) => this.#take(push),
      onAllowed: () => this.#allow(null),
      onRefused: (error) => this.#allow(error),
    });
  }

  close(): void {
    this.#end?.();
  }

  /** Begins a source without data, or says that there will be none. */
  begin(alias: string): void {
    this.#needs.onState(alias, this.#stateWith([]));
  }

  #allow(refused: Refused | null): void {
    if (refused === this.#refused) return;
    this.#refused = refused;
    for (const { alias } of this.#aliases())
      this.#needs.onState(alias, this.#stateWith(this.#needs.stateOf(alias)?.data ?? []));
  }

  #stateWith(data: unknown): SourceState {
    const error = this.#refused;
    if (!error) return { data, status: 'ready', isLoading: false, isStale: false, error: null };
    // An empty list would say that nothing has happened.
    const known = Array.isArray(data) && data.length === 0 ? undefined : data;
    return { data: known, status: 'failed', isLoading: false, isStale: known !== undefined, error };
  }

  #aliases(): { alias: string; channelName: unknown }[] {
    return this.#needs
      .bound()
      .flatMap(({ alias, type, channelName }) =>
        type === 'listener' && typeof alias === 'string' ? [{ alias, channelName }] : [],
      );
  }

  #take({ channelName, data, dataOmitted, mode, limit }: Push): void {
    if (dataOmitted) return;
    for (const { alias, channelName: own } of this.#aliases()) {
      if (own !== channelName) continue;
      const before = this.#needs.stateOf(alias)?.data;
      const all = [...(Array.isArray(before) ? before : []), data];
      this.#needs.onState(
        alias,
        this.#stateWith(mode === 'append' ? all.slice(-Math.max(limit ?? MAX_PUSHES, 1)) : data),
      );
    }
  }
}
