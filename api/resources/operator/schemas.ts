import { z } from 'zod';

export const OperatorLogin = z.object({
  email: z.email().max(255),
  password: z.string().min(1).max(1024),
});

export const Operator = z.object({
  operatorID: z.uuid(),
  email: z.string(),
  operatorTitle: z.string().nullable(),
});
