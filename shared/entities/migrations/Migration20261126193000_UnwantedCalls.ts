import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: its answers go on without a reader, and its calls after the end of their run, as before. */
export class Migration20261126193000_UnwantedCalls extends Migration {
  override up(): void {
    // The run whose node asks for the call; null for others.
    this.addSql('alter table ai_tool_call add column instance_id uuid');
    // Null: the answer goes on without a reader.
    this.addSql('alter table ai_answer add column read_until timestamptz');
    this.addSql('create index ai_answer_ended on ai_answer (ended_at) where ended_at is not null');
  }
}
