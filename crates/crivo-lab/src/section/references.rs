//! The literature.

/// A work that the study follows or stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The thesis on hyphenation.
    Silva2022,
    /// The report on hash functions and the counting Bloom filter.
    MartinsJesus2015,
    /// The lecture on cuckoo hashing.
    Bonet2016,
    /// Bloom's paper.
    Bloom1970,
    /// Liang's thesis.
    Liang1983,
    /// Counting filters.
    Fan2000,
    /// The cuckoo filter.
    Fan2014,
    /// Cuckoo hashing.
    PaghRodler2004,
    /// Hash compaction.
    WolperLeroy1993,
    /// Thresholds of cuckoo hashing.
    FountoulakisPanagiotou2012,
    /// Binary fuse filters.
    GrafLemire2022,
    /// The quotient filter.
    Bender2012,
    /// The blocked Bloom filter.
    Putze2009,
    /// The lower bound for membership.
    Carter1978,
    /// Exact intervals.
    ClopperPearson1934,
    /// Many comparisons.
    Holm1979,
    /// Linear probing.
    Knuth1998,
    /// MinHash.
    Broder1997,
    /// TinyLFU.
    EinzigerFriedmanManes2017,
    /// Invertible Bloom lookup tables for set differences.
    Eppstein2011,
    /// Formulas for caches.
    Garetto2016,
    /// What filters of wallets tell.
    Gervais2014,
    /// BIP 37.
    HearnCorallo2012,
    /// Geographic routing by filters.
    Hsiao2001,
    /// Bands and the S-curve.
    Leskovec2014,
    /// Signatures of few bits.
    LiKonig2010,
    /// The Bloom join.
    MackertLohman1986,
    /// One-hit wonders.
    MaggsSitaraman2015,
    /// BIP 158.
    OsuntokunAkselrod2017,
    /// Filters that lead requests.
    RheaKubiatowicz2002,
    /// One permutation with densification.
    Shrivastava2017,
    /// Rateless reconciliation.
    YangGiladAlizadeh2024,
    /// S3-FIFO.
    YangS3Fifo2023,
}

impl Source {
    pub(crate) const ALL: &[Self] = &[
        Self::Silva2022,
        Self::MartinsJesus2015,
        Self::Bonet2016,
        Self::Bender2012,
        Self::Bloom1970,
        Self::Broder1997,
        Self::Carter1978,
        Self::ClopperPearson1934,
        Self::EinzigerFriedmanManes2017,
        Self::Eppstein2011,
        Self::Fan2000,
        Self::Fan2014,
        Self::FountoulakisPanagiotou2012,
        Self::Garetto2016,
        Self::Gervais2014,
        Self::GrafLemire2022,
        Self::HearnCorallo2012,
        Self::Holm1979,
        Self::Hsiao2001,
        Self::Knuth1998,
        Self::Leskovec2014,
        Self::Liang1983,
        Self::LiKonig2010,
        Self::MackertLohman1986,
        Self::MaggsSitaraman2015,
        Self::OsuntokunAkselrod2017,
        Self::PaghRodler2004,
        Self::Putze2009,
        Self::RheaKubiatowicz2002,
        Self::Shrivastava2017,
        Self::WolperLeroy1993,
        Self::YangGiladAlizadeh2024,
        Self::YangS3Fifo2023,
    ];

    /// Its name in links, how it is cited, and the whole entry.
    pub(crate) const fn entry(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Silva2022 => (
                "silva-2022",
                "Silva 2022",
                "M. B. Silva, Estudo do efeito de variações de Bloom filters no desempenho de \
                 algoritmos de hifenização de palavras. Bachelor’s thesis, Universidade de São \
                 Paulo, 2022. The hyphenation experiment.",
            ),
            Self::MartinsJesus2015 => (
                "martins-jesus-2015",
                "Martins and Jesus 2015",
                "P. Martins, R. Jesus, Bloom-filter + Locality-Sensitive Hashing. Report, \
                 Universidade de Aveiro, 2015. The experiments on hash functions, k, m, and big \
                 and small filters.",
            ),
            Self::Bonet2016 => (
                "bonet-2016",
                "Bonet 2016",
                "B. Bonet, Hashing cuco y filtro de Bloom. Lecture, Universidad Simón Bolívar, \
                 Caracas, 2016. Its second exercise compares dictionaries.",
            ),
            Self::Bloom1970 => (
                "bloom-1970",
                "Bloom 1970",
                "B. H. Bloom, Space/time trade-offs in hash coding with allowable errors. \
                 Communications of the ACM 13(7), 1970. The filter, hyphenation as its use, and \
                 rejection time as its measure.",
            ),
            Self::Liang1983 => (
                "liang-1983",
                "Liang 1983",
                "F. M. Liang, Word Hy-phen-a-tion by Com-put-er. Ph.D. thesis, Stanford \
                 University, 1983. Patterns and exceptions, as in TeX.",
            ),
            Self::Fan2000 => (
                "fan-2000",
                "Fan et al. 2000",
                "L. Fan, P. Cao, J. Almeida, A. Z. Broder, Summary cache: a scalable wide-area \
                 web cache sharing protocol. IEEE/ACM Transactions on Networking 8(3), 2000. \
                 Counters, and why four bits are enough.",
            ),
            Self::Fan2014 => (
                "fan-2014",
                "Fan et al. 2014",
                "B. Fan, D. G. Andersen, M. Kaminsky, M. D. Mitzenmacher, Cuckoo filter: \
                 practically better than Bloom. CoNEXT 2014. The two claims that are tested here.",
            ),
            Self::PaghRodler2004 => (
                "pagh-rodler-2004",
                "Pagh and Rodler 2004",
                "R. Pagh, F. F. Rodler, Cuckoo hashing. Journal of Algorithms 51(2), 2004.",
            ),
            Self::WolperLeroy1993 => (
                "wolper-leroy-1993",
                "Wolper and Leroy 1993",
                "P. Wolper, D. Leroy, Reliable hashing without collision detection. CAV 1993. \
                 Hash compaction.",
            ),
            Self::FountoulakisPanagiotou2012 => (
                "fountoulakis-panagiotou-2012",
                "Fountoulakis and Panagiotou 2012",
                "N. Fountoulakis, K. Panagiotou, Sharp load thresholds for cuckoo hashing. Random \
                 Structures & Algorithms 41(3), 2012.",
            ),
            Self::GrafLemire2022 => (
                "graf-lemire-2022",
                "Graf and Lemire 2022",
                "T. M. Graf, D. Lemire, Binary fuse filters: fast and smaller than xor filters. \
                 ACM Journal of Experimental Algorithmics 27, 2022.",
            ),
            Self::Bender2012 => (
                "bender-2012",
                "Bender et al. 2012",
                "M. A. Bender et al., Don’t thrash: how to cache your hash on flash. Proceedings \
                 of the VLDB Endowment 5(11), 2012. The quotient filter.",
            ),
            Self::Putze2009 => (
                "putze-2009",
                "Putze et al. 2009",
                "F. Putze, P. Sanders, J. Singler, Cache-, hash-, and space-efficient Bloom \
                 filters. ACM Journal of Experimental Algorithmics 14, 2009. The blocked filter.",
            ),
            Self::Carter1978 => (
                "carter-1978",
                "Carter et al. 1978",
                "L. Carter, R. Floyd, J. Gill, G. Markowsky, M. Wegman, Exact and approximate \
                 membership testers. STOC 1978. No filter takes fewer than log₂(1/ε) bits per key.",
            ),
            Self::ClopperPearson1934 => (
                "clopper-pearson-1934",
                "Clopper and Pearson 1934",
                "C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits \
                 illustrated in the case of the binomial. Biometrika 26(4), 1934. The exact \
                 intervals.",
            ),
            Self::Holm1979 => (
                "holm-1979",
                "Holm 1979",
                "S. Holm, A simple sequentially rejective multiple test procedure. Scandinavian \
                 Journal of Statistics 6, 1979. Many comparisons at one level.",
            ),
            Self::Knuth1998 => (
                "knuth-1998",
                "Knuth 1998",
                "D. E. Knuth, The Art of Computer Programming, volume 3: Sorting and Searching, \
                 second edition, section 6.4. Addison-Wesley, 1998. Chaining and linear probing.",
            ),
            Self::Broder1997 => (
                "broder-1997",
                "Broder 1997",
                "A. Z. Broder, On the resemblance and containment of documents. Compression and \
                 Complexity of Sequences, 1997. Shingles and MinHash.",
            ),
            Self::EinzigerFriedmanManes2017 => (
                "einziger-2017",
                "Einziger et al. 2017",
                "G. Einziger, R. Friedman, B. Manes, TinyLFU: a highly efficient cache admission \
                 policy. ACM Transactions on Storage 13(4), 2017. Counting with ageing, and \
                 W-TinyLFU.",
            ),
            Self::Eppstein2011 => (
                "eppstein-2011",
                "Eppstein et al. 2011",
                "D. Eppstein, M. T. Goodrich, F. Uyeda, G. Varghese, What’s the difference? \
                 Efficient set reconciliation without prior context. SIGCOMM 2011.",
            ),
            Self::Garetto2016 => (
                "garetto-2016",
                "Garetto et al. 2016",
                "M. Garetto, E. Leonardi, V. Martina, A unified approach to the performance \
                 analysis of caching systems. ACM Transactions on Modeling and Performance \
                 Evaluation of Computing Systems 1(3), 2016. The formulas for LRU, plain and \
                 behind a filter.",
            ),
            Self::Gervais2014 => (
                "gervais-2014",
                "Gervais et al. 2014",
                "A. Gervais, G. O. Karame, D. Gruber, S. Capkun, On the privacy provisions of Bloom \
                 filters in lightweight Bitcoin clients. ACSAC 2014. Hash and key together give a \
                 wallet away.",
            ),
            Self::HearnCorallo2012 => (
                "hearn-corallo-2012",
                "Hearn and Corallo 2012",
                "M. Hearn, M. Corallo, BIP 37: Connection Bloom filtering. Bitcoin Improvement \
                 Proposals, 2012. Filters that wallets send to nodes.",
            ),
            Self::OsuntokunAkselrod2017 => (
                "osuntokun-akselrod-2017",
                "Osuntokun and Akselrod 2017",
                "O. Osuntokun, A. Akselrod, BIP 158: Compact block filters for light clients. Bitcoin \
                 Improvement Proposals, 2017. Golomb-coded sets that nodes give to wallets.",
            ),
            Self::Hsiao2001 => (
                "hsiao-2001",
                "Hsiao 2001",
                "P.-H. Hsiao, Geographical region summary service for geographical routing. \
                 MobiHoc 2001 (poster). Filters for children and siblings.",
            ),
            Self::Leskovec2014 => (
                "leskovec-2014",
                "Leskovec et al. 2014",
                "J. Leskovec, A. Rajaraman, J. D. Ullman, Mining of massive datasets, second \
                 edition, chapter 3. Cambridge University Press, 2014. Bands and the S-curve.",
            ),
            Self::LiKonig2010 => (
                "li-koenig-2010",
                "Li and König 2010",
                "P. Li, C. König, b-bit minwise hashing. WWW 2010. How few bits of a value are \
                 enough.",
            ),
            Self::MackertLohman1986 => (
                "mackert-lohman-1986",
                "Mackert and Lohman 1986",
                "L. F. Mackert, G. M. Lohman, R* optimizer validation and performance evaluation \
                 for distributed queries. VLDB 1986. The Bloom join, measured.",
            ),
            Self::MaggsSitaraman2015 => (
                "maggs-sitaraman-2015",
                "Maggs and Sitaraman 2015",
                "B. M. Maggs, R. K. Sitaraman, Algorithmic nuggets in content delivery. ACM \
                 SIGCOMM Computer Communication Review 45(3), 2015. Three quarters of objects are \
                 requested once.",
            ),
            Self::RheaKubiatowicz2002 => (
                "rhea-kubiatowicz-2002",
                "Rhea and Kubiatowicz 2002",
                "S. C. Rhea, J. Kubiatowicz, Probabilistic location and routing. INFOCOM 2002. \
                 Filters that lead requests.",
            ),
            Self::Shrivastava2017 => (
                "shrivastava-2017",
                "Shrivastava 2017",
                "A. Shrivastava, Optimal densification for fast and accurate minwise hashing. \
                 ICML 2017. One permutation in place of many.",
            ),
            Self::YangGiladAlizadeh2024 => (
                "yang-2024",
                "Yang et al. 2024",
                "L. Yang, Y. Gilad, M. Alizadeh, Practical rateless set reconciliation. SIGCOMM \
                 2024. Coded symbols without end: 1.35 to 1.72 per difference.",
            ),
            Self::YangS3Fifo2023 => (
                "yang-2023",
                "Yang et al. 2023",
                "J. Yang, Y. Zhang, Z. Qiu, Y. Yue, R. Vinayak, FIFO queues are all you need for \
                 cache eviction. SOSP 2023. S3-FIFO.",
            ),
        }
    }
}
