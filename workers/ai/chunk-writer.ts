import type { UIMessageChunk } from 'ai';
import { AppError } from '#shared/core/errors.ts';
import type { Pool } from '#shared/db/pool.ts';
import { type TakenStep, writeChunks } from './chat-rows.ts';

interface Needs {
  pool: Pool;
  claimed: TakenStep;
  /** Called when there is more to read. */
  tell(): void;
  /** Called when the answer is not wanted any more. */
  drop(): void;
}

/** Pieces that come within this time are one row. */
const PAUSE_MS = 50;
const MAX_ROW = 16_000;
const MAX_ANSWER = 4_000_000;

/** Chunks without content. While there are no others, nothing is written, so that an error can still be the response to the request. */
const silent: ReadonlySet<string> = new Set(['start', 'start-step']);

/** Writes the chunks of a step as rows, several at once. */
export class ChunkWriter {
  /** Text of the model in this step. */
  text = '';
  /** Reasoning of the model in this step. */
  thought = '';
  readonly #needs: Needs;
  #pending: string[] = [];
  #size = 0;
  #total = 0;
  #number: number;
  #isSilent: boolean;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(needs: Needs) {
    this.#needs = needs;
    this.#number = needs.claimed.rows;
    this.#isSilent = needs.claimed.rows === 0;
  }

  /** Resolves when the next chunk may be added. */
  async add(chunk: UIMessageChunk): Promise<void> {
    if (chunk.type === 'text-delta') this.text += chunk.delta;
    if (chunk.type === 'reasoning-delta') this.thought += chunk.delta;
    const written = JSON.stringify(chunk);
    this.#size += written.length;
    this.#total += written.length;
    if (this.#total > MAX_ANSWER)
      throw new AppError('PAYLOAD_TOO_LARGE', `The answer of the model is larger than ${MAX_ANSWER} bytes`);
    this.#pending.push(written);
    this.#isSilent &&= silent.has(chunk.type);
    if (this.#isSilent) return;
    if (this.#size > MAX_ROW) return this.flush();
    this.#timer ??= setTimeout(() => {
      this.flush().catch(() => this.#needs.drop());
    }, PAUSE_MS);
  }

  /** Has chunks written even if none has content: from now on an error cannot be the response to the request any more. */
  speak(): void {
    this.#isSilent = false;
  }

  /** Writes the pending chunks, after those that are being written. Writes nothing while an error could still be the response. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    if (this.#pending.length === 0 || this.#isSilent) return;
    const chunks = `[${this.#pending.join(',')}]`;
    this.#pending = [];
    this.#size = 0;
    this.#number += 1;
    const { pool, claimed, tell, drop } = this.#needs;
    const { answerID, callID } = claimed;
    if (!(await writeChunks(pool, { answerID, callID, number: this.#number, chunks }))) return drop();
    tell();
  }
}
