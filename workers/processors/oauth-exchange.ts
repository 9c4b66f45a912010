import type { oauthExchange } from '#shared/messaging/queues/oauth-exchange.ts';
import type { Answerer } from './answer-requests.ts';

export const answerOAuthExchange: Answerer<typeof oauthExchange> = ({ question }, { oauthConnections }) =>
  oauthConnections.exchange(question);
