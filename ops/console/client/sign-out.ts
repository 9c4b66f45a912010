import { queryOptions } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { forget } from './keep.ts';
import { body, rest } from './rest.ts';
import { DRAFTS, endSession, getSession } from './session.ts';

/** Where users sign in. */
export const signInRead = queryOptions({
  queryKey: ['sign-in'],
  queryFn: async () => (await body(rest.GET('/api/v1/auth/sign-in'))).signIn,
  staleTime: Number.POSITIVE_INFINITY,
});

/** Why the last try to sign out has failed. */
let failure: Error | undefined;
const listeners = new Set<() => void>();

export function useSignOutFailure(): Error | undefined {
  return useSyncExternalStore(subscribe, () => failure);
}

/**
 * Signs out of this tab, and of the whole browser where this server signs users in itself. Other providers keep their own session.
 * If that fails, the tab stays signed in: the page of the sign-in would say that the browser is signed out.
 */
export async function signOut(): Promise<void> {
  fail(undefined);
  try {
    if (getSession()?.renewal.kind === 'provider') await endSessionOfBrowser();
    dropDrafts();
    endSession();
  } catch (error) {
    fail(new Error('You are still signed in, since the server did not end your sign-in.', { cause: error }));
  }
}

/** The next person at this browser must not find what was not saved. */
function dropDrafts(): void {
  const own = `${DRAFTS}${getSession()?.email ?? ''} `;
  for (const key of Object.keys(localStorage).filter((one) => one.startsWith(own))) forget(key, localStorage);
}

async function endSessionOfBrowser(): Promise<void> {
  const { signIn } = await body(rest.GET('/api/v1/auth/sign-in'));
  if (!signIn.isBuiltIn) return;
  const { ok, status } = await fetch(`${signIn.issuer}/sign-out`, { method: 'POST' });
  if (!ok) throw new Error(`The server answered ${status}`);
}

function fail(error: Error | undefined): void {
  failure = error;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
