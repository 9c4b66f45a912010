import { AppError } from '#shared/core/errors.ts';

/** Error of a write that a dry run does not make. The engine ends the node without the write. */
export class RefusedWrite extends AppError {
  readonly write: string;

  constructor(write: string, cause?: unknown) {
    super('CONFLICT', `A dry run changes nothing: ${write} was refused`, { cause, retry: false });
    this.write = write;
  }
}
