import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import type { InteractionResults } from 'oidc-provider';
import { toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { scopes } from '../auth/app-scopes.ts';
import { savePerson } from '../people/people.ts';
import { type Account, findAccount, STORED_AS } from './accounts.ts';
import { GRANT_SECONDS, keepClient, requireRoomForApp, tenantOfResource } from './apps.ts';
import { originOf, recordAction } from './audit.ts';
import { consentPage, noConsentPage, readableName } from './consent-page.ts';
import { fieldOf, sendPage } from './exchange.ts';
import { expiredPage } from './interaction-pages.ts';
import type { Needs } from './needs.ts';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

interface Exchange {
  interaction: Interaction;
  request: Request;
  response: Response;
}

/** A request of an app to the user who is signed in. */
interface Asked {
  account: Account;
  clientID: string;
  name: string;
  redirectURI: string;
  /** The address of the MCP service, as the app wrote it. */
  resource: string;
  tenantTitle: string | undefined;
  scopes: readonly string[];
  mayStay: boolean;
}

/** The page on which a user lets an app act for them, which each app asks each time. */
export function consentSteps(needs: Needs) {
  const { pool, publicURL, issuer, mcpURL } = needs;

  async function read({ params, session }: Interaction): Promise<Asked | undefined> {
    const { client_id: clientID, redirect_uri: redirectURI, resource, scope } = params;
    const account = session?.accountId === undefined ? undefined : await findAccount(pool, session.accountId);
    const client = typeof clientID === 'string' ? await needs.provider().Client.find(clientID) : undefined;
    if (!account || account.isDisabled || !client) return undefined;
    if (typeof redirectURI !== 'string' || typeof resource !== 'string') return undefined;
    const tenantID = tenantOfResource(mcpURL, resource);
    const asked = String(scope ?? '').split(' ');
    return {
      account,
      clientID: client.clientId,
      name: readableName(client.clientName),
      redirectURI,
      resource,
      tenantTitle: tenantID && (await findTenantTitle(account, tenantID)),
      scopes: scopes.filter((each) => asked.includes(each)),
      mayStay: client.grantTypeAllowed('refresh_token'),
    };
  }

  async function findTenantTitle({ accountID, email }: Account, tenantID: string): Promise<string | undefined> {
    // Who was invited and has not been in the console yet becomes a member now.
    const names = { firstName: null, lastName: null };
    await savePerson(pool, newID(), { issuer: STORED_AS, subject: accountID, email, isEmailVerified: true, ...names });
    const { rows } = await pool.query<{ tenantTitle: string }>(TENANT, [STORED_AS, accountID, tenantID]);
    return rows[0]?.tenantTitle;
  }

  function show({ interaction, response }: Exchange, asked: Asked, problem?: string): void {
    const { account, redirectURI, tenantTitle } = asked;
    const shown = { action: `${issuer}/interaction/${interaction.uid}`, leadsTo: [sourceOf(redirectURI)] };
    if (tenantTitle === undefined) {
      const refusal = `${account.email} is no member of this tenant`;
      return sendPage(response, 403, noConsentPage({ ...shown, problem: refusal }, publicURL));
    }
    const page = consentPage({
      ...shown,
      ...asked,
      ...{ tenantTitle, email: account.email, asked: asked.scopes, days: GRANT_SECONDS / 86_400, problem },
    });
    sendPage(response, problem === undefined ? 200 : 400, page);
  }

  async function finish({ request, response }: Exchange, result: InteractionResults): Promise<void> {
    await needs.provider().interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  return {
    async show(exchange: Exchange): Promise<void> {
      const asked = await read(exchange.interaction);
      if (asked) show(exchange, asked);
      else sendPage(exchange.response, 400, expiredPage(publicURL));
    },

    async decide(exchange: Exchange): Promise<void> {
      const { interaction, request, response } = exchange;
      const asked = interaction.prompt.name === 'consent' ? await read(interaction) : undefined;
      if (!asked) return sendPage(response, 400, expiredPage(publicURL));
      if (fieldOf(request, 'decision', 10) !== 'allow')
        return await finish(exchange, { error: 'access_denied', error_description: 'The user has not agreed' });
      // Sent twice, the form makes one grant.
      const done = interaction.result?.consent;
      if (done) return await finish(exchange, { consent: done });
      const given = chosenIn(request);
      const allowed = asked.scopes.filter((scope) => given.includes(scope));
      if (asked.tenantTitle === undefined) return show(exchange, asked);
      if (allowed.length === 0) return show(exchange, asked, 'Choose what the app may do, or do not allow it');
      const { accountID } = asked.account;
      const full = await requireRoomForApp(pool, accountID).catch((error: unknown) => toAppError(error));
      if (full) return show(exchange, asked, full.message);
      const stays = asked.mayStay && fieldOf(request, 'stay', 10) === 'yes';
      const grantId = await saveGrant(asked, allowed, stays);
      await recordAction(pool, 'APP_CONNECTED', { accountID, origin: originOf(request) });
      await finish(exchange, { consent: { grantId } });
    },
  };

  async function saveGrant({ account, clientID, resource, scopes: asked }: Asked, allowed: string[], stays: boolean) {
    const { Grant } = needs.provider();
    const grant = new Grant({ accountId: account.accountID, clientId: clientID });
    grant.addResourceScope(resource, allowed);
    const refused = asked.filter((scope) => !allowed.includes(scope));
    if (refused.length > 0) grant.rejectResourceScope(resource, refused);
    // Apps learn nothing about the user: what they are given is for the MCP service alone.
    grant.rejectOIDCScope(['openid', 'email', 'profile', ...(stays ? [] : ['offline_access'])]);
    if (stays) grant.addOIDCScope('offline_access');
    await keepClient(pool, clientID);
    return await grant.save();
  }
}

function chosenIn({ body }: Request): readonly unknown[] {
  return [(body as { scope?: unknown } | undefined)?.scope].flat();
}

/** Where a form may lead, as a policy names it: the scheme of an app has no origin. */
export function sourceOf(address: string): string {
  const { origin, protocol } = new URL(address);
  return origin === 'null' ? protocol : origin;
}

const TENANT = `
select t.tenant_title as "tenantTitle" from app_user u
join membership m on m.user_id = u.id and m.tenant_id = $3::uuid
join tenant t on t.id = m.tenant_id and t.deleting_at is null
where u.issuer = $1 and u.subject = $2 and not u.is_disabled`;
