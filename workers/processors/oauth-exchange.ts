import type { oauthExchange } from '#shared/messaging/queues/oauth-exchange.ts';
import type { RPCHandler } from './answer-requests.ts';

export const answerOAuthExchange: RPCHandler<typeof oauthExchange> = ({ request }, { oauthConnections }) =>
  oauthConnections.exchange(request);
