import type { UIMessageChunk } from 'ai';
import type { Pool } from '#shared/db/pool.ts';
import { AppError } from '#shared/errors.ts';
import { writeChunks } from './chat-rows.ts';

interface Needs {
  pool: Pool;
  answerID: string;
  /** Called when there is more to read. */
  tell(): void;
  /** Called when the answer is not wanted any more. */
  drop(): void;
}

/** Pieces that come within this time are one row. */
const PAUSE_MS = 50;
const MAX_ROW = 16_000;
const MAX_ANSWER = 4_000_000;

/** Chunks that say nothing yet: until others follow, an error is the answer to the request. */
const silent: ReadonlySet<string> = new Set(['start', 'start-step']);

/** Writes the chunks of an answer as rows, several at once. */
export class ChunkWriter {
  /** What the model has said. */
  text = '';
  readonly #needs: Needs;
  #pending: string[] = [];
  #size = 0;
  #total = 0;
  #number = 0;
  #isSilent = true;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Resolves when more may come. */
  async add(chunk: UIMessageChunk): Promise<void> {
    if (chunk.type === 'text-delta') this.text += chunk.delta;
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

  /** Writes the pieces that wait, after those that are being written. Nothing while an error could still be the answer. */
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
    const { pool, answerID, tell, drop } = this.#needs;
    if (!(await writeChunks(pool, { answerID, number: this.#number, chunks }))) return drop();
    tell();
  }
}
