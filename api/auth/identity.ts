import type { Actor } from '#shared/core/caller.ts';

/** A program that a user has let act for them, such as a client of MCP. */
export interface App {
  clientID: string;
  /** As the program calls itself, unverified. */
  name: string;
  /** The most that the user lets it do. */
  scopes: ReadonlySet<string>;
}

/** The caller of a request: a user, or a program with an API key that acts for the user who made the key. */
export interface Identity {
  userID: string;
  email: string | null;
  apiKeyID?: string;
  /** The app by which the user calls, if they have signed in to it with their account here. */
  app?: App;
  /** Authors of `ai` nodes, whose permissions also limit what a tool of such a node may do. */
  boundBy?: readonly Actor[] | undefined;
}
