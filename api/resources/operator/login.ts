import { z } from 'zod';
import { originOf } from '../../auth/operator-session.ts';
import { publicRoute } from '../../context/routes.ts';
import { OPERATOR_PREFIX } from '../../http/route/route.ts';
import { Operator, OperatorLogin } from './schemas.ts';

/** Public, because the caller has no session yet; throttled in `Operators.login`. */
export const loginOperator = publicRoute({
  name: 'loginOperator',
  method: 'post',
  path: `${OPERATOR_PREFIX}/auth/login`,
  summary: 'Sign in as an operator',
  description: 'Returns a session token, which is valid for 12 hours under `/api/v1/operator`.',
  body: OperatorLogin,
  response: z.object({ operator: Operator, token: z.string(), expiresAt: z.iso.datetime() }),
  idempotent: false,
  errors: ['401', '429'],

  async handle({ body, request, response }, { access: { operators } }) {
    const { operator, token, expiresAt } = await operators.login(body, originOf(request));
    response.setHeader('cache-control', 'no-store');
    return { operator, token, expiresAt: expiresAt.toISOString() };
  },
});
