import { tenantRoute } from '../../../context/routes.ts';
import { EventSent, WorkflowEvent } from './event-schemas.ts';

export const sendWorkflowEvent = tenantRoute({
  name: 'sendWorkflowEvent',
  method: 'post',
  path: '/workflows/events',
  summary: 'Send an event to runs',
  description:
    'Gives the event to every node that waits for its name and key, in runs of workflows that the caller may execute, and names the runs that it reached. It is remembered for nodes that begin to wait later; each run takes it once.',
  permission: 'workflow.execute',
  filter: true,
  takesData: true,
  body: WorkflowEvent,
  response: EventSent,
  idempotent: 'handler',

  async handle({ body, caller, tenantID, idempotency }, { runs: { events } }) {
    const { name, key, data, rememberMinutes } = body;
    const event = { tenantID, name, key: String(key), data, rememberSeconds: rememberMinutes * 60, caller };
    return events.send(event, idempotency);
  },
});
