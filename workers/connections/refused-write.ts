import { AppError } from '#shared/core/errors.ts';

/** A write that a dry run does not make. The node goes on without it. */
export class RefusedWrite extends AppError {
  readonly write: string;

  constructor(write: string, cause?: unknown) {
    super('CONFLICT', `A dry run changes nothing: ${write} was refused`, { cause, retry: false });
    this.write = write;
  }
}
