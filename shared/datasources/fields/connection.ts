import { z } from 'zod';
import { destination, secret } from '../../core/schema/secret.ts';

/** Fields of connections that many types have, with the words that describe them. */

export const connectionName = z.string().max(255).optional().meta({
  title: 'Connection name',
  description: 'A note for those who read the settings; it has no effect',
});

export const host = destination(z.string().min(1).max(253)).meta({
  title: 'Host',
  description: 'Name or IP address of the server, such as server.example.com',
});

/** `hint` says when another port than the usual one is needed. */
export function port(usual: number, hint = `${usual} unless the server was set up otherwise`) {
  return destination(z.int().min(1).max(65_535))
    .default(usual)
    .meta({ title: 'Port', description: `Port of the server: ${hint}` });
}

export const userWords = { title: 'User', description: 'Name to sign in with' };
export const optionalUserWords = { title: 'User', description: 'Name to sign in with. Empty: without signing in' };

/** For a field that is a secret. */
export const passwordWords = { title: 'Password', description: 'Of the user. It is stored encrypted' };

export const tls = destination(z.boolean()).default(false).meta({
  title: 'Encrypt with TLS',
  description: 'On: the connection fails if the server has no TLS. Off: passwords and data are sent unencrypted',
});

/** One URL in place of the fields. `description` begins with an example. */
export function connectionURL(schema: z.ZodString, description: string) {
  return secret(schema).meta({ title: 'Connection URL', description });
}

/** Field that chooses between fields of a connection and one URL. */
export function connectionOption<const Choice extends string>(choice: Choice) {
  return z.literal(choice).meta({
    title: 'Connect with',
    description: 'Host, user and password in fields of their own, or one URL with all of them',
    'x-enumNames': [choice === 'connectionDetails' ? 'Host, user and password' : 'A connection URL'],
  });
}

export const detailsWords = {
  title: 'Connection details',
  description: 'Where the server is, and how to sign in, in fields of their own',
};

export const additionalWords = {
  title: 'Further options',
  description: 'Options of the connection that seldom change',
};
