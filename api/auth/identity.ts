import type { Actor } from '#shared/core/caller.ts';

/** The caller of a request: a user, or a program with an API key that acts for the user who made the key. */
export interface Identity {
  userID: string;
  email: string | null;
  apiKeyID?: string;
  /** The authors whose rights also bind a tool that a node calls. */
  boundBy?: readonly Actor[] | undefined;
}
