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
  title: waiting.title.meta({
    title: 'Title',
    description:
      'What the person is asked, such as “Approve the order {{ctx.input.orderID}}?”; also the name on the canvas',
  }),
  description: waiting.description.meta({
    title: 'Description',
    description: 'What the person should know to answer; it is shown below the title',
  }),
  expiryMinutes: z.number().min(0).max(10_080).default(60).meta({
    title: 'Expires after (min)',
    description: 'Minutes for which the question waits for an answer; 0: for ever',
  }),
  reminders: z
    .array(Reminder)
    .max(10)
    .optional()
    .meta({ title: 'Reminders', description: 'Times at which those who may answer are told again' }),
  answerByLink: z.boolean().default(false).meta({
    title: 'Answer by link',
    description:
      'A person with the link may answer once, without signing in; steps that send a mail or a message insert it',
  }),
  linkExpiryMinutes: z.number().gt(0).max(MAX_LINK_MINUTES).default(MAX_LINK_MINUTES).meta({
    title: 'Link expires after (min)',
    description: 'Minutes from the question on; the question itself may end before',
  }),
  /**
   * The people who may answer: ids or verified addresses of users, ids or names of roles; as a list, or as a text with commas. Absent: all who
   * may execute the workflow. Empty is refused, because a template that is empty by mistake would let everyone answer.
   */
  approvers: referring(z.union([Name, z.array(Name).min(1).max(100)]), 'user', 'role')
    .optional()
    .meta({
      title: 'Who may answer',
      description: 'Members by address, and roles by name. Without any: all who may execute the workflow',
    }),
};
