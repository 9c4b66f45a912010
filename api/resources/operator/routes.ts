import { z } from 'zod';
import { originOf } from '../../auth/operator-session.ts';
import { operatorRoute } from '../../context/routes.ts';
import { loginOperator } from './login.ts';
import { Operator } from './schemas.ts';

export const operatorRoutes = [
  loginOperator,

  operatorRoute({
    name: 'logoutOperator',
    method: 'post',
    path: '/auth/logout',
    summary: 'Sign out as an operator',
    description: 'Revokes the session.',
    response: z.object({}),
    idempotent: false,
    isRecordedByHandler: true,

    async handle({ operator, request }, { access: { operators } }) {
      await operators.logout(operator, originOf(request));
      return {};
    },
  }),

  operatorRoute({
    name: 'getCurrentOperator',
    method: 'get',
    path: '/auth/me',
    summary: 'Get the current operator',
    description: 'Returns the operator that the session belongs to.',
    response: z.object({ operator: Operator }),

    async handle({ operator: { operatorID, email, operatorTitle } }) {
      return { operator: { operatorID, email, operatorTitle } };
    },
  }),
];
