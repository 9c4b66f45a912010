import { z } from 'zod';
import { DatabaseName } from '#shared/datasources/tenant-database/table.ts';
import { exampleTriggerCreate } from './examples.ts';

const upper = (text: string) => text.trim().replace(/\s+/g, ' ').toUpperCase();
const TIMINGS = ['BEFORE', 'AFTER', 'INSTEAD OF'] as const;
const FOR_EACH = ['ROW', 'STATEMENT'] as const;
const Events = z.array(z.enum(['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'])).min(1);

export const TriggerCreate = z
  .object({
    databaseTableName: DatabaseName,
    databaseTriggerName: DatabaseName,
    triggerTiming: z.string().transform(upper).pipe(z.enum(TIMINGS)).meta({ enum: TIMINGS }),
    triggerEvents: z
      .union([z.string(), z.array(z.string()).max(4)])
      .transform((events) => (Array.isArray(events) ? events : events.split(/,|\s+or\s+/i)).map(upper))
      .pipe(Events)
      .meta({ description: '`INSERT OR UPDATE`, `insert, update`, or a list' }),
    forEach: z
      .string()
      .optional()
      .transform((text) => text && upper(text))
      .pipe(z.enum(FOR_EACH).optional())
      .meta({ enum: FOR_EACH, description: 'Without it ROW, or STATEMENT for TRUNCATE' }),
    triggerFunction: z.string().max(300).nullish().meta({
      description:
        "Of the table's schema, or `schema.function`; without it the function of the table's schema that has the trigger's name",
    }),
    triggerCondition: z.string().max(10_000).nullish(),
  })
  .transform((body, check) => {
    const { triggerFunction = null } = body;
    const routine = triggerFunction === null ? null : readRoutine(triggerFunction);
    if (routine === undefined) {
      check.addIssue({
        code: 'custom',
        path: ['triggerFunction'],
        message: 'must name a function: name or schema.name',
      });
      return z.NEVER;
    }
    return {
      table: body.databaseTableName,
      trigger: body.databaseTriggerName,
      timing: body.triggerTiming,
      events: [...new Set(body.triggerEvents)],
      forEach: body.forEach ?? (body.triggerEvents.includes('TRUNCATE') ? ('STATEMENT' as const) : ('ROW' as const)),
      routine,
      condition: body.triggerCondition || null,
    };
  })
  .meta({ id: 'DatabaseTriggerCreate', examples: [exampleTriggerCreate] });

const routineForm = /^(?:("(?:[^"]|"")+"|[^".()\s]+)\s*\.\s*)?("(?:[^"]|"")+"|[^".()\s]+)(?:\s*\(\s*\))?$/;

function readRoutine(text: string): { schema: string | null; name: string } | undefined {
  const [, schema, name] = routineForm.exec(text.trim()) ?? [];
  if (!name) return undefined;
  const bare = (part: string) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part);
  const routine = { schema: schema ? bare(schema) : null, name: bare(name) };
  const isFit = [routine.schema ?? 'none', routine.name].every((part) => DatabaseName.safeParse(part).success);
  return isFit ? routine : undefined;
}
