import type { Actor } from '#shared/core/caller.ts';

/** The caller of a request: a user, or a program with an API key that acts for the user who made the key. */
export interface Identity {
  userID: string;
  email: string | null;
  apiKeyID?: string;
  /** Authors of `ai` nodes, whose permissions also limit what a tool of such a node may do. */
  boundBy?: readonly Actor[] | undefined;
}
