import { z } from 'zod';
import { exampleLogin, exampleOperator } from './examples.ts';

export const OperatorLogin = z
  .object({
    email: z.email().max(255),
    password: z.string().min(1).max(1024),
  })
  .meta({ id: 'OperatorLogin', examples: [exampleLogin] });

export const Operator = z
  .object({
    operatorID: z.uuid(),
    email: z.string(),
    operatorTitle: z.string().nullable(),
  })
  .meta({ id: 'Operator', examples: [exampleOperator] });
