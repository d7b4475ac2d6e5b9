import { Controller, Get, Inject, Param, Post } from '@nestjs/common';
import { type Quote, QuotesService } from './quotes.service';

@Controller('quotes')
export class QuotesController {
  constructor(@Inject(QuotesService) private readonly quotes: QuotesService) {}

  @Get(':id')
  show(@Param('id') id: string): Promise<Quote> {
    return this.quotes.find(id);
  }

  @Post(':id/rate')
  async rate(@Param('id') id: string): Promise<Quote> {
    return this.quotes.rate(id);
  }
}
