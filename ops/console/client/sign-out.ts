import { queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import { endSession, getSession } from './session.ts';

/** Where users sign in. */
export const signInRead = queryOptions({
  queryKey: ['sign-in'],
  queryFn: async () => (await body(rest.GET('/api/v1/auth/sign-in'))).signIn,
  staleTime: Number.POSITIVE_INFINITY,
});

/** Signs out of this tab, and of the whole browser where this server signs users in itself. Other providers keep their own session. */
export async function signOut(): Promise<void> {
  try {
    if (getSession()?.renewal.kind !== 'provider') return;
    const { signIn } = await body(rest.GET('/api/v1/auth/sign-in'));
    if (signIn.isBuiltIn) await fetch(`${signIn.issuer}/sign-out`, { method: 'POST' });
  } finally {
    endSession();
  }
}
