import { z } from 'zod';
import { originOf } from '../../auth/operator-session.ts';
import { operatorRoute } from '../../http/route.ts';
import { loginOperator } from './login.ts';
import { Operator } from './schemas.ts';

export const operatorRoutes = [
  loginOperator,

  operatorRoute({
    method: 'post',
    path: '/auth/logout',
    summary: 'End the operator session',
    response: z.object({}),
    idempotent: false,
    isRecordedByHandler: true,

    async handle({ operator, request }, { operators }) {
      await operators.logout(operator, originOf(request));
      return {};
    },
  }),

  operatorRoute({
    method: 'get',
    path: '/auth/me',
    summary: 'The current operator',
    response: z.object({ operator: Operator }),

    async handle({ operator: { operatorID, email, operatorTitle } }) {
      return { operator: { operatorID, email, operatorTitle } };
    },
  }),
];
