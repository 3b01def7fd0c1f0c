import { getRequestListener } from '@hono/node-server';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import {
  All,
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  Post,
  Req,
  Res,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { createGuard, type Guarded } from '../more/nest/adapter.ts';
import { withSession } from '../more/nest/with-session.ts';
import { keyring } from './access.ts';
import { mcp } from './mcp.ts';
import { addInvoice, invoicesOf, personOf, projectsOf } from './product.ts';
import { settings } from './settings.ts';

@Injectable()
class SessionGuard implements CanActivate {
  async canActivate(context: ExecutionContext) {
    const request = context.switchToHttp().getRequest<Request>();
    const person = await personOf(request.headers.cookie);
    if (person === null) throw new UnauthorizedException('Sign in.');
    Object.assign(request, { entityId: person.organizationId }); // As the guard does for keys.
    return true;
  }
}
const either = withSession(createGuard({ keyring, onError: console.error }), SessionGuard);

@Controller()
class Product {
  @Get('projects')
  @UseGuards(either('listProjects'))
  projects(@Req() { entityId }: Guarded) {
    return projectsOf(entityId);
  }

  @Get('invoices')
  @UseGuards(either('listInvoices'))
  invoices(@Req() { entityId }: Guarded) {
    return invoicesOf(entityId);
  }

  @Post('invoices')
  @UseGuards(either('createInvoice'))
  addInvoice(@Req() { entityId }: Guarded, @Body() body: { amount: number }) {
    return addInvoice(entityId, body);
  }

  @All(['settings/keys', 'settings/keys/*path'])
  settings(@Req() req: Request, @Res() res: Response) {
    const parsed = { parsedBody: req.body as unknown }; // Nest has read it.
    return getRequestListener((request) => settings(request, parsed))(req, res);
  }

  @All('mcp')
  mcp(@Req() req: Request, @Res() res: Response) {
    return getRequestListener((request) => mcp(request, req.body))(req, res);
  }
}

@Module({ controllers: [Product], providers: [SessionGuard] })
export class AppModule {}
