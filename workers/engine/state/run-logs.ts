import type { Activation } from '#shared/workflow/progress/progress.ts';
import {
  type LogLine,
  type LogSize,
  MAX_NODE_LOG,
  MAX_RUN_LOG,
  type Printed,
  sizeOfLine,
} from '#shared/workflow/run-log.ts';

/** The largest value of the integer columns that count cut lines and bytes. A loop of `console.log` exceeds it within seconds. */
const MAX_INTEGER = 2_147_483_647;

/** The log of an attempt, as the commit of its outcome writes it. */
export interface EventLog extends Printed {
  /** Size of the lines that are stored. */
  size: LogSize;
}

/** The lines that the nodes of a run print, until the commits of their outcomes write them, and how many are stored already. */
export class RunLogs {
  readonly #printed = new Map<Activation, Printed>();
  readonly #byNode = new Map<string, LogSize>();
  readonly #total: LogSize = { lines: 0, bytes: 0 };

  /** Adds what the current attempt of an activation prints. */
  print(activation: Activation, { lines, cut }: Printed): void {
    const known = this.#printed.get(activation);
    if (!known) {
      this.#printed.set(activation, { lines: [...lines], cut: { ...cut } });
      return;
    }
    for (const line of lines) known.lines.push(line);
    add(known.cut, cut);
  }

  /** Removes and returns the lines to be written with the outcome of an activation; undefined if it has printed nothing. */
  take(activation: Activation): EventLog | undefined {
    const printed = this.#printed.get(activation);
    if (!printed) return undefined;
    this.#printed.delete(activation);
    const { id } = activation.node;
    const lines: LogLine[] = [];
    const size = { lines: 0, bytes: 0 };
    const cut = { ...printed.cut };
    for (const line of printed.lines) {
      const bytes = sizeOfLine(line);
      const isStored = this.#hasRoom(id, { lines: size.lines + 1, bytes: size.bytes + bytes });
      add(isStored ? size : cut, { lines: 1, bytes });
      if (isStored) lines.push(line);
    }
    this.count(id, size);
    return { lines, cut: { lines: Math.min(cut.lines, MAX_INTEGER), bytes: Math.min(cut.bytes, MAX_INTEGER) }, size };
  }

  /** Counts lines of a node that are stored. */
  count(nodeID: string, size: LogSize): void {
    const known = this.#byNode.get(nodeID) ?? { lines: 0, bytes: 0 };
    this.#byNode.set(nodeID, known);
    add(known, size);
    add(this.#total, size);
  }

  /** How much each node has written, for a checkpoint. */
  snapshot(): [nodeID: string, lines: number, bytes: number][] {
    return [...this.#byNode].map(([nodeID, { lines, bytes }]) => [nodeID, lines, bytes]);
  }

  #hasRoom(nodeID: string, more: LogSize): boolean {
    const own = this.#byNode.get(nodeID) ?? { lines: 0, bytes: 0 };
    return fits(own, more, MAX_NODE_LOG) && fits(this.#total, more, MAX_RUN_LOG);
  }
}

function add(to: LogSize, { lines, bytes }: LogSize): void {
  to.lines += lines;
  to.bytes += bytes;
}

function fits(stored: LogSize, more: LogSize, max: LogSize): boolean {
  return stored.lines + more.lines <= max.lines && stored.bytes + more.bytes <= max.bytes;
}
