import type { PageClient, Push } from './client.ts';

type Values = Readonly<Record<string, unknown>>;

interface Needs {
  client: Pick<PageClient, 'listen'>;
  /** The data sources of the page. */
  bound: () => readonly Values[];
  dataOf: (alias: string) => unknown;
  onData: (alias: string, data: unknown) => void;
}

const MAX_PUSHES = 1_000;

/** Data that listeners send to the page, once it binds one. */
export class Pushes {
  readonly #needs: Needs;
  #end: (() => void) | undefined;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  open(): void {
    if (this.#end || !this.#needs.bound().some(({ type }) => type === 'listener')) return;
    this.#end = this.#needs.client.listen((push) => this.#take(push));
  }

  close(): void {
    this.#end?.();
  }

  #take({ channelName, data, dataOmitted, mode, limit }: Push): void {
    if (dataOmitted) return;
    for (const { alias, type, channelName: own } of this.#needs.bound()) {
      if (type !== 'listener' || typeof alias !== 'string' || own !== channelName) continue;
      const before = this.#needs.dataOf(alias);
      const all = [...(Array.isArray(before) ? before : []), data];
      this.#needs.onData(alias, mode === 'append' ? all.slice(-Math.max(limit ?? MAX_PUSHES, 1)) : data);
    }
  }
}
