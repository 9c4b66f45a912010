import { z } from 'zod';
import { subjectsOf } from '#shared/core/caller.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { isTerminal } from '#shared/workflow/progress/status.ts';
import { tenantRoute } from '../../context/routes.ts';
import { createAuthorizer, denied } from '../../http/access/authorize.ts';
import { findReadableRun, VALUES } from '../../runs/find-run.ts';
import { InstanceID } from '../../runs/run-schemas.ts';
import { streamOwner } from '../../streams/stream-capacity.ts';
import { StreamQuery } from './schemas.ts';

export const streamInstance = tenantRoute({
  name: 'streamWorkflowInstance',
  method: 'get',
  path: '/workflows/instances/:instanceID/stream',
  summary: 'Stream the events of a run',
  description:
    'Sends the events of a run as server-sent events, those after `Last-Event-ID` (a `seq`) first, until the run has ended. The messages are those of the sockets. 204 without content: the client has everything, and the run has ended.',
  permission: 'workflow.read',
  filter: true,
  alternative: 'workflow.execute',
  params: InstanceID,
  query: StreamQuery,
  produces: 'text/event-stream',
  response: z.object({}),
  errors: ['404', '429'],

  async handle({ params, query, em, require, caller, tenantID, response }, context) {
    const run = await findReadableRun({ em, require, caller }, params.instanceID, { without: VALUES });
    const { req: request } = response;
    const lastSeq = query.lastSeq ?? numberOf(request.get('last-event-id'));
    if (isTerminal(run.status) && lastSeq >= run.seq) {
      response.status(204).end();
      return {};
    }

    /** Checks the permissions again while the stream is open. Returns the version of the tenant's rules. */
    async function check(): Promise<number> {
      const { authorization } = request.headers;
      const again = await context.access.authenticator.identify(authorization, {
        apiKey: request.get('x-api-key'),
        tenantID,
      });
      if (!again.membership) throw denied('membership');
      const version = again.membership.policyVersion;
      const policyCaller = { tenantID, version, subjects: subjectsOf(caller) };
      const authorizer = createAuthorizer(context.access.policy, policyCaller);
      await findReadableRun({ em: em.fork(), require: authorizer.require, caller }, params.instanceID, {
        without: VALUES,
      });
      return version;
    }
    await context.requests.streams.send(
      {
        instanceID: run.id,
        lastSeq,
        ...streamOwner(caller, tenantID),
        check,
        maxMs: query.seconds * 1_000,
      },
      response,
    );
    return {};
  },
});

/** The header of a client that has had no event yet is absent or empty. */
function numberOf(header: string | undefined): number {
  const seq = Number(header ?? 0);
  if (Number.isSafeInteger(seq) && seq >= 0) return seq;
  throw invalidField('Last-Event-ID', `expected the id of an event of this run, received ${JSON.stringify(header)}`);
}
