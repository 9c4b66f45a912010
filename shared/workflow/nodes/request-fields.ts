import { z } from 'zod';
import { referring } from '../../core/schema/reference.ts';
import { waiting } from './common.ts';
import { Reminder } from './reminders.ts';

/** A week. A link works no longer, even if its question never expires. */
const MAX_LINK_MINUTES = 10_080;

const Name = z.string().min(1).max(255);

/** Fields of kinds that ask a person. */
export const requestFields = {
  ...waiting,
  expiryMinutes: z
    .number()
    .min(0)
    .max(10_080)
    .default(60)
    .meta({ title: 'Expires after (min)', description: 'How long the question waits for an answer; 0 for ever' }),
  reminders: z
    .array(Reminder)
    .max(10)
    .optional()
    .meta({ title: 'Reminders', description: 'When those who may answer are told again' }),
  answerByLink: z
    .boolean()
    .default(false)
    .meta({ title: 'Answer by link', description: 'The holder of a link may answer once, without signing in' }),
  linkExpiryMinutes: z.number().gt(0).max(MAX_LINK_MINUTES).default(MAX_LINK_MINUTES).meta({
    title: 'Link expires after (min)',
    description: 'From the question on; the question itself may end before',
  }),
  /**
   * The people who may answer: ids or verified addresses of users, ids or names of roles; as a list, or as a text with commas. Absent: all who
   * may execute the workflow. Empty is refused, because a template that is empty by mistake would let everyone answer.
   */
  approvers: referring(z.union([Name, z.array(Name).min(1).max(100)]), 'user', 'role')
    .optional()
    .meta({
      title: 'Who may answer',
      description:
        'Users (id or verified address) and roles (id or name), as a list or a text with commas. Without any: all who may execute the workflow',
    }),
};
