import type { oauthExchange } from '#shared/queues/oauth-exchange.ts';
import type { Answerer } from './answers.ts';

export const answerOAuthExchange: Answerer<typeof oauthExchange> = ({ question }, { oauthConnections }) =>
  oauthConnections.exchange(question);
