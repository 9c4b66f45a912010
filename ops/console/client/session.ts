import { useSyncExternalStore } from 'react';

/** Who is signed in, in this tab: kept over reloads, and gone with the tab. */
export interface Session {
  token: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
  email: string;
  /** How the token is renewed: by asking the development issuer, or with the refresh token of a provider. */
  renewal: { kind: 'development' } | { kind: 'provider'; refreshToken: string | undefined };
}

const KEY = 'gantry.session';
/** Before the token ends: long enough for a request that is on its way. */
const AHEAD_MS = 120_000;
const RETRY_MS = 15_000;

let session = read();
/** Why the last session ended. */
let notice: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let renewing: Promise<void> | undefined;
let renewal: (session: Session) => Promise<Session> = () => Promise.reject(new Error('Nothing renews the session'));
const listeners = new Set<() => void>();
if (session) schedule(session);

export function useSession(): Session | undefined {
  return useSyncExternalStore(subscribe, () => session);
}

export function getSession(): Session | undefined {
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
  set(next);
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

function set(next: Session | undefined): void {
  session = next;
  if (next) sessionStorage.setItem(KEY, JSON.stringify(next));
  else sessionStorage.removeItem(KEY);
  schedule(next);
  for (const listener of listeners) listener();
}

function schedule(next: Session | undefined): void {
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
  const next = await renewal(current);
  // Signed out or in again meanwhile.
  if (session === current) set(next);
}

function read(): Session | undefined {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Session | null;
    return stored && stored.expiresAt > Date.now() ? stored : undefined;
  } catch {
    return undefined;
  }
}
