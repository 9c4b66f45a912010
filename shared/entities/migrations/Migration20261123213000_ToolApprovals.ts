import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: an older MCP process calls without an approval, until it is replaced. */
export class Migration20261123213000_ToolApprovals extends Migration {
  override up(): void {
    // Which calls over MCP wait for a person, and whether that must be another one than the caller.
    this.addSql(`
alter table tenant
  add column tool_approval varchar(16) not null default 'none',
  add column is_approved_by_another boolean not null default false`);
    // `origin`: of calls that no chat and no node asks for. `asked_attempts`: those that only found that a person must decide.
    this.addSql(`
alter table ai_tool_call
  add column origin varchar(16),
  add column shown_input text,
  add column expires_at timestamptz,
  add column asked_attempts integer not null default 0`);
    this.addSql(
      `create index ai_tool_call_approvals on ai_tool_call (tenant_id, created_at desc, id desc) where origin is not null`,
    );
    this.addSql(`
create trigger close_notifications after update of status on ai_tool_call for each row
when (old.origin is not null and old.status = 'asked' and new.status <> 'asked') execute function close_notifications()`);
  }
}
