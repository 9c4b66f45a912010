import { useSyncExternalStore } from 'react';
import { newID } from './new-id.ts';
import { connectTabs } from './session-tabs.ts';

/** Who is signed in, in this tab: kept over reloads, and gone with the tab. */
export interface Session {
  token: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
  email: string;
  /** How the token is renewed: by asking the development issuer, or with the refresh token of a provider. */
  renewal: { kind: 'development' } | { kind: 'provider'; refreshToken: string | undefined };
}

/** A session as a tab keeps it. A tab that is duplicated, or restored, has the same one. */
export interface StoredSession extends Session {
  signInID: string;
  renewals: number;
}

const KEY = 'gantry.session';
/** How the names begin under which the browser keeps drafts that are not saved: the address of their author follows. */
export const DRAFTS = 'gantry.draft.';
/** Before the token ends: long enough for a request that is on its way. */
const AHEAD_MS = 120_000;
/** Below the time in which the built-in sign-in accepts a refresh token again: an answer may have been lost. */
const RETRY_MS = 5_000;

let session = read();
/** Why the last session ended. */
let notice: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let renewing: Promise<void> | undefined;
let renewal: (session: Session) => Promise<Session> = () => Promise.reject(new Error('Nothing renews the session'));
const listeners = new Set<() => void>();
const tabs = connectTabs(() => session, set);
if (session) schedule(session);

export function useSession(): Session | undefined {
  return useSyncExternalStore(subscribe, () => session);
}

export function getSession(): StoredSession | undefined {
  return session;
}

export function sessionNotice(): string | undefined {
  return notice;
}

/** How a session gets a later end. */
export function renewBy(renew: (session: Session) => Promise<Session>): void {
  renewal = renew;
}

export function beginSession(next: Session): void {
  notice = undefined;
  set({ ...next, signInID: newID(), renewals: 0 });
}

export function endSession(why?: string): void {
  if (session) notice = why;
  set(undefined);
}

/** Waits for the renewal of a token that is about to end. */
export async function currentToken(): Promise<string | undefined> {
  if (session && session.expiresAt - Date.now() < AHEAD_MS / 4) await renew().catch(() => undefined);
  return session?.token;
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: StoredSession | undefined): void {
  session = next;
  if (next) sessionStorage.setItem(KEY, JSON.stringify(next));
  else sessionStorage.removeItem(KEY);
  schedule(next);
  for (const listener of listeners) listener();
}

function schedule(next: StoredSession | undefined): void {
  clearTimeout(timer);
  if (!next) return;
  const waitMs = Math.max(0, next.expiresAt - Date.now() - AHEAD_MS);
  timer = setTimeout(() => {
    renew().catch(() => {
      if (!session) return;
      if (Date.now() >= session.expiresAt) endSession('Your sign-in has ended.');
      else timer = setTimeout(() => schedule(session), RETRY_MS);
    });
  }, waitMs);
}

/** One renewal at a time. */
function renew(): Promise<void> {
  renewing ??= renewOnce().finally(() => {
    renewing = undefined;
  });
  return renewing;
}

async function renewOnce(): Promise<void> {
  const current = session;
  if (!current) return;
  await tabs.oneAtATime(current, async () => {
    // Renewed by another tab, signed out, or in again meanwhile.
    if (session !== current) return;
    const { signInID, renewals } = current;
    const next = { ...(await renewal(current)), signInID, renewals: renewals + 1 };
    tabs.tell(next);
    if (session === current) set(next);
  });
}

function read(): StoredSession | undefined {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as StoredSession | null;
    // An older console has kept it without the last two.
    return stored && stored.expiresAt > Date.now()
      ? { ...stored, signInID: stored.signInID ?? newID(), renewals: stored.renewals ?? 0 }
      : undefined;
  } catch {
    return undefined;
  }
}
