import { Injectable } from '@nestjs/common';

const rounds: number = process.env.PLANTED ? 900_000 : 10;

export interface Quote {
  id: string;
  premium: number;
}

@Injectable()
export class QuotesService {
  async find(id: string): Promise<Quote> {
    return { id, premium: 1 };
  }

  async rate(id: string): Promise<Quote> {
    const quote = await this.find(id);
    return { ...quote, premium: this.simulate(quote) };
  }

  private simulate(quote: Quote): number {
    let premium = quote.premium;
    for (let i = 0; i < rounds; i++) {
      premium += Math.log(1 + (i % 17)) * Math.cos(i); // planted
    }
    return premium;
  }
}
