import type { z } from 'zod';

/** What a datasource type is: how it is reached and what it can be asked. */
export interface DatasourceDefinition<
  Type extends string = string,
  Options extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> {
  readonly type: Type;
  readonly label: string;
  readonly options: Options;
  readonly query: Query;
}
